package clients;

import jakarta.persistence.*;
import java.util.*;
import org.hibernate.SessionFactory;
import org.hibernate.annotations.JdbcTypeCode;
import org.hibernate.cfg.Configuration;
import org.hibernate.type.SqlTypes;

/** Hibernate: the schema made, brought up to date and validated, entities written and asked for. */
public class Orm {
    @Entity(name = "HibAuthor") @Table(name = "hib_author", indexes = @Index(name = "hib_name", columnList = "name"))
    public static class Author {
        @Id @GeneratedValue(strategy = GenerationType.SEQUENCE) public Long id;
        @Column(length = 40, nullable = false, unique = true) public String name;
        @Enumerated(EnumType.STRING) public Kind kind = Kind.POET;
        public java.time.OffsetDateTime made = java.time.OffsetDateTime.now();
        public java.math.BigDecimal price;
        public UUID code = UUID.randomUUID();
        @JdbcTypeCode(SqlTypes.JSON) public Map<String, String> facts = new HashMap<>();
        @JdbcTypeCode(SqlTypes.ARRAY) public String[] tags = {"x", "y,z"};
        @Version public int version;
        @OneToMany(mappedBy = "author", cascade = CascadeType.ALL, orphanRemoval = true) public List<Book> books = new ArrayList<>();
    }

    public enum Kind { POET, AUTHOR }

    @Entity(name = "HibBook") @Table(name = "hib_book")
    public static class Book {
        @Id @GeneratedValue(strategy = GenerationType.IDENTITY) public Long id;
        // Without @Lob, which wants large objects.
        @Column(columnDefinition = "text") public String text;
        public String title;
        @ManyToOne(fetch = FetchType.LAZY) public Author author;
    }

    static SessionFactory factory(String schema) {
        Configuration configuration = new Configuration();
        configuration.addAnnotatedClass(Author.class).addAnnotatedClass(Book.class);
        configuration.setProperty("hibernate.connection.url", Jdbc.url());
        configuration.setProperty("hibernate.hbm2ddl.auto", schema);
        configuration.setProperty("hibernate.jdbc.batch_size", "20");
        return configuration.buildSessionFactory();
    }

    public static void main(String[] args) {
        java.util.logging.Logger.getLogger("org.hibernate").setLevel(java.util.logging.Level.SEVERE);
        factory("create").close();
        factory("update").close();
        try (SessionFactory factory = factory("validate")) {
            Long key = factory.fromTransaction(session -> {
                Author ada = new Author();
                ada.name = "Ada";
                ada.facts.put("a", "1");
                for (int i = 0; i < 30; i++) {
                    Book book = new Book();
                    book.title = "Book " + i;
                    book.text = "long ".repeat(1000);
                    book.author = ada;
                    ada.books.add(book);
                }
                session.persist(ada);
                return ada.id;
            });
            factory.inTransaction(session -> {
                Author ada = session.get(Author.class, key);
                Jdbc.check(ada.facts.get("a").equals("1") && ada.tags[1].equals("y,z") && ada.books.size() == 30, "author");
                Jdbc.check(ada.books.get(0).text.length() == 5000, "text");
                var page = session.createQuery("select b from HibBook b join fetch b.author a where a.name like :name order by b.id", Book.class)
                    .setParameter("name", "A%").setFirstResult(10).setMaxResults(5).list();
                Jdbc.check(page.size() == 5 && page.get(0).title.equals("Book 10"), "page");
                var counted = session.createQuery("select a.kind, count(b), max(b.title) from HibAuthor a left join a.books b group by a.kind", Object[].class).list();
                Jdbc.check(((Long) counted.get(0)[1]) == 30L, "count");
                ada.books.remove(0);
                ada.name = "Eve";
            });
            factory.inTransaction(session -> {
                Author eve = session.find(Author.class, key, LockModeType.PESSIMISTIC_WRITE);
                Jdbc.check(eve.version == 1 || eve.version == 2, eve.version);
                Jdbc.check(session.createMutationQuery("delete HibBook b where b.title = 'Book 1'").executeUpdate() == 1, "delete");
            });
        }
        factory("create-drop").close();
    }
}
