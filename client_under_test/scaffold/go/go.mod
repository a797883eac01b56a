module xdspec/adapter

go 1.21
