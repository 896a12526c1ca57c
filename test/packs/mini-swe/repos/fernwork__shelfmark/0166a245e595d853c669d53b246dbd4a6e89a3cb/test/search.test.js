import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { search, sortKey } from '../src/search.js';

const books = [
  { title: 'The Sea', author: 'Mara Holm' },
  { title: 'A Theory of Ropes', author: 'J. Sea' },
];

describe('search', () => {
  it('finds all words', () => {
    assert.deepEqual(search(books, 'Sea Mara'), [books[0]]);
  });
  it('drops the article', () => {
    assert.equal(sortKey('The Sea'), 'sea');
  });
});
