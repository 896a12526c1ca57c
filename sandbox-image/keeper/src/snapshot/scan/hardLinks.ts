import { makeEntry } from '../manifest.ts';
import type { TreeNode } from './node.ts';

/**
 * Makes every later name of a file point to its first one. Runs after each scan, over the sorted
 * nodes: which name is the first can change without any change to this node. Names outside of the
 * roots do not count.
 */
export function groupHardLinks(nodes: readonly TreeNode[]): void {
  const first = new Map<string, string>();
  for (const node of nodes) {
    const { entry, linkKey } = node;
    if (entry === null || (linkKey === '' && (entry.type === 'l' || entry.link === ''))) continue;
    const known = linkKey === '' ? '' : (first.get(linkKey) ?? '');
    if (linkKey !== '' && known === '') first.set(linkKey, node.path);
    if (entry.link !== known) node.entry = makeEntry({ ...entry, link: known });
  }
}
