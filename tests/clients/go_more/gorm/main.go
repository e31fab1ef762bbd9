// GORM: AutoMigrate twice (the second finds nothing to do), associations, upserts, savepoints, its migrator's questions.
package main

import (
	"errors"
	"fmt"
	"os"
	"time"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
)

type GormAuthor struct {
	ID    uint
	Name  string `gorm:"size:40;uniqueIndex;not null"`
	Price float64
	Made  time.Time `gorm:"default:now()"`
	Books []GormBook `gorm:"foreignKey:AuthorID;constraint:OnDelete:CASCADE"`
}

type GormBook struct {
	gorm.Model
	AuthorID uint   `gorm:"index"`
	Title    string `gorm:"type:text;check:title <> ''"`
	Facts    []byte `gorm:"type:jsonb"`
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func check(ok bool, what ...any) {
	if !ok {
		panic(fmt.Sprint(what...))
	}
}

func main() {
	dsn := fmt.Sprintf("host=%s port=%s user=%s dbname=%s sslmode=disable", os.Getenv("PGHOST"), os.Getenv("PGPORT"), os.Getenv("PGUSER"), os.Getenv("PGDATABASE"))
	db, err := gorm.Open(postgres.Open(dsn), &gorm.Config{Logger: logger.Default.LogMode(logger.Silent), TranslateError: true})
	must(err)
	must(db.Migrator().DropTable(&GormBook{}, &GormAuthor{}))
	must(db.AutoMigrate(&GormAuthor{}, &GormBook{}))
	must(db.AutoMigrate(&GormAuthor{}, &GormBook{}))
	moves := db.Migrator()
	check(moves.HasTable(&GormBook{}) && moves.HasColumn(&GormBook{}, "title"), "table")
	check(moves.HasIndex(&GormAuthor{}, "Name") && moves.HasConstraint(&GormAuthor{}, "Books"), "index")
	types, err := moves.ColumnTypes(&GormAuthor{})
	must(err)
	check(len(types) == 4, len(types))
	length, ok := types[1].Length()
	check(ok && length == 40, length)
	must(db.Create(&GormAuthor{Name: "Ada", Books: []GormBook{{Title: "One", Facts: []byte(`{"a": 1}`)}, {Title: "Two"}}}).Error)
	check(errors.Is(db.Create(&GormAuthor{Name: "Ada"}).Error, gorm.ErrDuplicatedKey), "duplicate")
	var ada GormAuthor
	must(db.Preload("Books").First(&ada, "name = ?", "Ada").Error)
	check(len(ada.Books) == 2, ada)
	must(db.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "id"}}, DoUpdates: clause.AssignmentColumns([]string{"name"})}).Create(&GormAuthor{ID: ada.ID, Name: "Eve"}).Error)
	must(db.Transaction(func(tx *gorm.DB) error {
		inner := tx.Transaction(func(tx *gorm.DB) error {
			must(tx.Where("1 = 1").Delete(&GormBook{}).Error)
			return errors.New("back")
		})
		check(inner != nil, "inner")
		return nil
	}))
	var books int64
	must(db.Model(&GormBook{}).Where("facts @> ?", `{"a": 1}`).Or("title = ?", "Two").Count(&books).Error)
	check(books == 2, books)
	must(db.Delete(&ada.Books[0]).Error)
	must(db.Model(&GormBook{}).Count(&books).Error)
	check(books == 1, books)
	must(moves.RenameColumn(&GormBook{}, "title", "heading"))
	must(moves.DropColumn(&GormBook{}, "heading"))
	must(moves.DropTable(&GormBook{}, &GormAuthor{}))
}
