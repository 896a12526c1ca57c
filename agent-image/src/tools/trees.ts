import type { ToolContext } from './tool.ts';

/** A snapshot of the tree as it is: the newest of the conversation where it still is that. */
export async function treeNow({ scope, memory }: ToolContext): Promise<string> {
  const newest = memory.undoPoints.at(-1);
  if (newest !== undefined && (await scope.hands.diff(newest.id)).entries.length === 0) return newest.id;
  return (await scope.hands.snapshot('before checks')).id;
}

/** Puts the tree back: what ran under one check is not there for the next, nor for the model. */
export async function putBack({ scope }: ToolContext, tree: string): Promise<void> {
  if ((await scope.hands.diff(tree)).entries.length > 0) await scope.hands.restore(tree);
}
