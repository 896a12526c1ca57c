import { KeeperRefusal } from '@agentfleet/keeper/client';
import type { Edit } from '@agentfleet/protocol/inference';
import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import { enter, NodeGone, SearchNode } from './node.ts';
import type { Scope } from '../attempt/scope.ts';

const before = 'x = 1\n';
const edit: Edit = {
  path: 'a.py',
  range: { startByte: 4, endByte: 5 },
  before: '1',
  after: '2',
  expectedSha256: createHash('sha256').update(before).digest('hex'),
};
const passing = new Set<string>();
const root = (): SearchNode => new SearchNode({ state: 'r', parent: null, planId: 'repair', edits: [], snapshot: 's0001', passing });

/** A tree of one file whose keeper keeps only some snapshots. */
function tree(kept: Readonly<Record<string, string>>) {
  const done: string[] = [];
  let content = '';
  const session = {
    restore: (id: string): Promise<void> => {
      const found = kept[id];
      if (found === undefined) return Promise.reject(new KeeperRefusal(404, 'AF_SNAPSHOT_UNKNOWN', 'no such snapshot', 'list them'));
      done.push(`restore ${id}`);
      content = found;
      return Promise.resolve();
    },
    read: (): Promise<Buffer> => Promise.resolve(Buffer.from(content)),
    write: (path: string, bytes: Buffer): Promise<void> => {
      done.push(`write ${path}`);
      content = bytes.toString();
      return Promise.resolve();
    },
  };
  const scope = { session, progress: { establish: () => {} } } as unknown as Scope;
  return { scope, done, content: () => content };
}

it('a tree whose snapshot is not kept any more is made again from the one above', async () => {
  const { scope, done, content } = tree({ s0001: before });
  const node = new SearchNode({ state: 'n', parent: root(), planId: 'r1', edits: [edit], snapshot: 's0007', passing });
  await enter(scope, node);
  expect([done, content()]).toEqual([['restore s0001', 'write a.py'], 'x = 2\n']);
  expect(node.snapshot).toBeNull();
});

it('there is no way back to one that commands made', async () => {
  const { scope, done } = tree({ s0001: before });
  const node = new SearchNode({ state: 'n', parent: root(), planId: 'r1', edits: [edit], snapshot: 's0007', passing, acted: true });
  await expect(enter(scope, node)).rejects.toThrow(NodeGone);
  expect(done).toEqual([]);
});

it('the root has to be there', async () => {
  const { scope } = tree({});
  await expect(enter(scope, root())).rejects.toThrow(KeeperRefusal);
});
