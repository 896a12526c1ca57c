import { describe, expect, test } from 'vitest';
import { asKeeperError } from './failure.ts';
import { SnapshotError } from '../snapshot/index.ts';

describe('a failure as an answer', () => {
  test.each(['AF_RESTORE_FAILED', 'AF_SNAPSHOT_UNREADABLE', 'AF_STORE_FULL', 'AF_SNAPSHOT_UNKNOWN', 'AF_RESTORE_MISMATCH'] as const)(
    '%s of the snapshot engine keeps its code, words and cure',
    (code) => {
      const error = new SnapshotError(code, 'what and where');
      expect(asKeeperError(error)).toMatchObject({ code, message: 'what and where', cure: error.cure });
    },
  );

  test('a full disk is reported as such, and an unexpected error shows no details', () => {
    expect(asKeeperError(Object.assign(new Error('no space'), { code: 'ENOSPC' }))).toMatchObject({ code: 'AF_STORE_FULL' });
    expect(asKeeperError(new Error('secret path'))).toMatchObject({ code: 'AF_INTERNAL', message: 'the keeper failed on this request' });
  });
});
