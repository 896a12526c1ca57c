/**
 * Files and trees of the roots, read and replaced while no process of the user runs. May import `snapshot`, `log`, `base` and
 * `protocol`; not `exec`.
 */
export { astEditFile, readLines, replaceInFile } from './replace.ts';
export { listFiles, type OpenedFile, openFile } from './tree/look.ts';
export { measureTree, packTree } from './pack.ts';
export { resolveFolder } from './tree/resolve.ts';
export { searchFiles } from './search/search.ts';
export { StagedFiles, writeChecked, writeFile, type WriteOptions } from './write.ts';
export { syntaxCheck, SyntaxParser } from './syntax/index.ts';
export { type TreeCounts, TreeWriter, unpackTree } from './treeWriter.ts';
