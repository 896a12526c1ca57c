/** The screen of one task, a file for each part of it, and its dialogs. Imports parts and base; of other screens nothing. */
export { TaskScreen } from './task.tsx';
