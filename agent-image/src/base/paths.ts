// agent-image, base: folders above given paths. May import protocol, kube and the keeper's client, no other folder.

/** The folders above some paths, without a slash at their ends. Takes time that grows with the paths, not with their square. */
export function foldersAbove(paths: Iterable<string>): ReadonlySet<string> {
  const folders = new Set<string>();
  for (const path of paths)
    for (let at = path.lastIndexOf('/'); at >= 0; at = path.lastIndexOf('/', at - 1)) {
      const folder = path.slice(0, at);
      if (folders.has(folder)) break;
      folders.add(folder);
      if (at === 0) break;
    }
  return folders;
}

/** The paths that are not above another one. */
export function leavesOf(paths: readonly string[]): readonly string[] {
  const folders = foldersAbove(paths);
  return paths.filter((path) => !folders.has(path));
}
