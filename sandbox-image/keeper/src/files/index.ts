/** Single files of the roots, read and replaced while no process of the user runs. */
export { openFile, type OpenedFile } from './read.ts';
export { writeFile, type WriteOptions } from './write.ts';
