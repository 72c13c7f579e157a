package server

// PieceTime is how long a caller may take to read a piece of a large reply.
const PieceTime = pieceTime
