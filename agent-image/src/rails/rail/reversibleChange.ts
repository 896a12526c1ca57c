import { args, hasFlag } from '../shell/command.ts';
import { found, nothing, type Rail } from './rail.ts';

/** Work that deletes in the workspace: legitimate, and undone by a snapshot. */
export const reversibleChange: Rail = {
  id: 'reversible-change',
  title: 'deleting or overwriting inside the workspace',
  severity: 'Reversible',
  risk: 'Reversible',
  cure: 'A snapshot is taken first; nothing to do.',
  check(command) {
    const { name } = command;
    if (/^(?:rm|rmdir|unlink|shred|truncate)$/.test(name)) return found('Reversible', `${name} deletes in the workspace`);
    if (name === 'find' && args(command).includes('-delete')) return found('Reversible', 'find deletes in the workspace');
    if (name === 'rsync' && args(command).some((text) => text.startsWith('--delete')))
      return found('Reversible', 'rsync deletes in the workspace');
    if (name === 'mv' && hasFlag(command, 'f', '--force')) return found('Reversible', 'mv overwrites in the workspace');
    return nothing;
  },
};
