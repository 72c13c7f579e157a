module github.com/unalike-id/unalike

go 1.26
