/** Files and trees of the roots, read and replaced while no process of the user runs. */
export { astEditFile, type AstEditRules } from './astEdit.ts';
export { readLines } from './lines.ts';
export { listFiles } from './list.ts';
export { measureTree, packTree, type TreeMeasure } from './pack.ts';
export { openFile, readWhole, type OpenedFile } from './read.ts';
export { replaceInFile } from './replace.ts';
export { resolveFolder } from './resolve.ts';
export { searchFiles } from './search/index.ts';
export { syntaxCheck, SyntaxParser } from './syntax/index.ts';
export { TreeWriter, type TreeCounts, type TreeRules } from './treeWriter.ts';
export { unpackTree } from './unpack.ts';
export { writeChecked, writeFile, type WriteOptions } from './write.ts';
