import type { Mutant } from './mutants.ts';

const keeper = 'sandbox-image/keeper/src';
const vitest = (path: string): Mutant['test'] => ({ kind: 'vitest', path });

/** Bugs in what changes, reads and sends the files of a sandbox, and in the output of commands. */
export const edits: readonly Mutant[] = [
  {
    guarantee: 'a text that stands twice is not replaced',
    file: `${keeper}/files/replace.ts`,
    find: 'if (first !== undefined && places.length === 1) return first;',
    replace: 'if (first !== undefined) return first;',
    test: vitest(`${keeper}/files/replace.test.ts`),
  },
  {
    guarantee: 'a replacement is held to the expected content',
    file: `${keeper}/files/replace.ts`,
    find: 'edit.expectedSha256 !== previousSha256',
    replace: 'edit.expectedSha256 === edit.path',
    test: vitest(`${keeper}/files/replace.test.ts`),
  },
  {
    guarantee: 'a patch that a crash cut off is undone whole',
    file: `${keeper}/files/patch/commit.ts`,
    find: 'if (old !== null && kept !== null && begun) await rename(sysPath(kept), sysPath(old));',
    replace: 'if (old !== null && kept !== null && begun && target === null) await rename(sysPath(kept), sysPath(old));',
    test: vitest(`${keeper}/files/patch/commit.test.ts`),
  },
  {
    guarantee: 'a patch that fails in the middle is undone',
    file: `${keeper}/files/patch/patches.ts`,
    find: '    await undo(record);\n    await journal.remove(requestId);\n    await rules.record',
    replace: '    await journal.remove(requestId);\n    await rules.record',
    test: vitest(`${keeper}/files/patch/patch.test.ts`),
  },
  {
    guarantee: 'no name of a patch leads through a link',
    file: `${keeper}/files/patch/place.ts`,
    find: 'else if (stat.isSymbolicLink()) throw',
    replace: 'else if (stat.isSymbolicLink() && stat.nlink === 0) throw',
    test: vitest(`${keeper}/files/patch/patch.test.ts`),
  },
  {
    guarantee: 'a patch is applied once for one request id',
    file: `${keeper}/files/patch/patches.ts`,
    find: 'await journal.find(request.requestId)',
    replace: 'await Promise.resolve(null as PatchRecord | null)',
    test: vitest(`${keeper}/http/edits.test.ts`),
  },
  {
    guarantee: 'a search takes steps in proportion to the line',
    file: `${keeper}/files/search/matcher.ts`,
    find: 'if (index < this.size && this.#places[index] === place) return false;',
    replace: 'if (this.size === this.#places.length) return false;',
    test: vitest(`${keeper}/files/search`),
  },
  {
    guarantee: 'a search never follows a link',
    file: `${keeper}/files/walk.ts`,
    find: "if (entry.isDirectory()) return 'folder';",
    replace: "if (entry.isDirectory() || entry.isSymbolicLink()) return 'folder';",
    test: vitest(`${keeper}/files`),
  },
  {
    guarantee: 'an archive keeps names that are no text',
    file: `${keeper}/files/tarBlocks.ts`,
    find: "header.write(name.slice(0, shortName), 0, 'latin1');",
    replace: "header.write(name.slice(0, shortName), 0, 'utf8');",
    test: vitest(`${keeper}/http/treeDownload.test.ts`),
  },
  {
    guarantee: 'spilled output has no gap',
    file: `${keeper}/exec/spill.ts`,
    find: 'if (taken.length < bytes.length) this.#over = true;',
    replace: 'if (taken.length < bytes.length) this.#left = this.#target.maxBytes;',
    test: vitest(`${keeper}/exec/spill.test.ts`),
  },
];
