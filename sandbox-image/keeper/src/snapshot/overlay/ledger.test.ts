import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Ledger, namesIn, union } from './layers.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'ledger-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

describe('the ledger', () => {
  test('has its last state after a kill', () => {
    const ledger = new Ledger(dir);
    expect(ledger.state).toMatchObject({ lower: [0], upper: 1, next: 2 });
    ledger.write({ lower: [1, 0], upper: 2, next: 3, snapshots: { s0001: [1, 0] } });
    writeFileSync(join(dir, 'ledger.tmp'), '{"torn');
    expect(new Ledger(dir).state).toEqual(ledger.state);
    expect(new Ledger(dir).used()).toEqual(new Set([0, 1, 2]));
  });

  test.each(['', '{"torn', '{}', '[]', 'null', '{"format":2,"lower":[0],"upper":1,"next":2}'])('is refused when it is %j', (text) => {
    writeFileSync(join(dir, 'ledger'), text);
    expect(() => new Ledger(dir)).toThrow(expect.objectContaining({ code: 'AF_SNAPSHOT_CONFIG' }));
  });
});

describe('names in layers', () => {
  test('are all names, and none below a file', () => {
    mkdirSync(join(dir, 'a/b'), { recursive: true });
    writeFileSync(join(dir, 'a/f'), '');
    expect(namesIn(dir)).toEqual(
      new Map([
        [
          'a',
          new Map([
            ['b', new Map()],
            ['f', null],
          ]),
        ],
      ]),
    );
    expect(namesIn(join(dir, 'gone'))).toBeNull();
  });

  test('of two layers are those of either, and anything below a name that is a file in one', () => {
    const a = new Map([
      ['x', new Map([['y', null]])],
      ['only', null],
    ]);
    const b = new Map([['x', new Map([['z', null]])]]);
    expect(union(a, b)).toEqual(
      new Map([
        [
          'x',
          new Map([
            ['y', null],
            ['z', null],
          ]),
        ],
        ['only', null],
      ]),
    );
    expect(union(a, new Map([['x', null]]))).toEqual(
      new Map([
        ['x', null],
        ['only', null],
      ]),
    );
  });
});
