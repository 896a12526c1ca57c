import { describe, expect, it } from 'vitest';
import type { SnapshotRecord } from '@agentfleet/protocol/keeper';
import { assertSnapshotsThere } from './rollback.ts';

const one = (id: string, label: string | null): SnapshotRecord => ({ id, label }) as unknown as SnapshotRecord;

describe('a rollback', () => {
  it('is refused in a sandbox that lacks the reported initial snapshot, with class and cure', () => {
    for (const there of [[], [one('s0001', 'empty')]]) {
      const roll = (): void => assertSnapshotsThere({ initial: 's0002' }, there);
      expect(roll).toThrow(expect.objectContaining({ failureClass: 'Infrastructure', reason: 'SnapshotsLost' }));
      expect(roll).toThrow(/s0002 .*lacks it; bring back the volume/);
    }
  });

  it('goes on where it is there, and where none was ever reported', () => {
    expect(() => assertSnapshotsThere({ initial: 's0002' }, [one('s0001', 'empty'), one('s0002', 'initial')])).not.toThrow();
    expect(() => assertSnapshotsThere(undefined, [])).not.toThrow();
  });
});
