/**
 * The screen of one task, a file for each part of it, and its dialogs. Imports parts, base and types of protocol and of the service; of
 * other screens nothing.
 */
export { TaskScreen } from './task.tsx';
