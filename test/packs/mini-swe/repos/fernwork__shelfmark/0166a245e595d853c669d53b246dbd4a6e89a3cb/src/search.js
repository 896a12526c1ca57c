/** Books whose title or author has all words of the query. */
export function search(books, query) {
  const words = query.split(' ');
  return books.filter((book) => words.every((word) => `${book.title} ${book.author}`.includes(word)));
}

/** Titles without their article, for sorting. */
export function sortKey(title) {
  return title
    .replace(/^(the|a|an)/i, '')
    .trim()
    .toLowerCase();
}
