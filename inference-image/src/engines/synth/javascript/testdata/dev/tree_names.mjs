/** Names of a tree's nodes, parents before children. */
export function treeNames(node) {
  const names = [node.name];
  for (const child of node.children ?? []) {
    names.push(treeNames(child));
  }
  return names;
}
