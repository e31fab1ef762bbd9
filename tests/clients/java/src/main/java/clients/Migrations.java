package clients;

import org.flywaydb.core.Flyway;

/** Flyway: migrations, repeatable ones, validation, and the schema cleaned again. */
public class Migrations {
    public static void main(String[] args) {
        java.util.logging.Logger.getLogger("org.flywaydb").setLevel(java.util.logging.Level.SEVERE);
        Flyway flyway = Flyway.configure().dataSource(Jdbc.url(), null, null).schemas("flyway_here").defaultSchema("flyway_here")
            .locations("classpath:db/migration").cleanDisabled(false).load();
        flyway.clean();
        Jdbc.check(flyway.migrate().migrationsExecuted == 3, "migrated");
        Jdbc.check(flyway.migrate().migrationsExecuted == 0, "nothing left");
        flyway.validate();
        Jdbc.check(flyway.info().applied().length >= 3, "applied");
        flyway.repair();
        flyway.clean();
    }
}
