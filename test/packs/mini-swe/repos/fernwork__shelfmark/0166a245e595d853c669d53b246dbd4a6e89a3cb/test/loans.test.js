import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { addDays, Loans } from '../src/loans.js';

describe('loans', () => {
  it('lends a book once', () => {
    const loans = new Loans();
    loans.lend('b1', 'ann', '2026-01-01');
    assert.throws(() => loans.lend('b1', 'bob', '2026-01-01'), /is lent/);
    assert.deepEqual(loans.of('ann'), ['b1']);
  });
  it('takes it back', () => {
    const loans = new Loans();
    loans.lend('b1', 'ann', '2026-01-01');
    loans.giveBack('b1');
    assert.deepEqual(loans.of('ann'), []);
  });
  it('fines the late', () => {
    const loans = new Loans({ days: 7 });
    loans.lend('b1', 'ann', '2026-01-01');
    assert.equal(loans.fine('b1', '2026-01-11'), 30);
  });
  it('adds days', () => {
    assert.equal(addDays('2026-02-27', 3), '2026-03-02');
  });
});
