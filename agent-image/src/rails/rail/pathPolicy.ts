import { operands, type Command } from '../shell/command.ts';
import { absolute } from '../shell/places.ts';
import { writeTargets } from '../shell/targets.ts';
import { deviceHost } from '../shell/hosts.ts';
import { found, nothing, type Found, type Rail, type Surroundings } from './rail.ts';

/** Most files that one command may name for writing or deleting. */
const maxFiles = 256;

/** Files are written outside the roots of the task. */
export const pathPolicy: Rail = {
  id: 'path-policy',
  title: 'writing outside the roots, links that lead out of them, too many files at once',
  severity: 'High',
  risk: 'Destructive',
  cure: 'Write below the workspace, or below /tmp for what may be lost.',
  check(command, around) {
    const targets = writeTargets(command);
    if (targets.length > maxFiles) return found('High', `${command.name} names ${targets.length} files; at most ${maxFiles} at once`);
    const linked = links(command, around);
    if (linked.length > 0) return linked;
    for (const target of targets) {
      const place = deviceHost(target) === null ? around.place(target, command) : 'sink';
      if (['root', 'system', 'home', 'above', 'outside'].includes(place) && !created(command, target)) {
        return found('High', `${command.name || 'a redirect'} writes ${target}, which is outside the roots`);
      }
      if (place === 'unknown' && target !== '')
        return found('Suspicious', `${command.name || 'a redirect'} writes ${target}, which only the run would tell`);
    }
    return nothing;
  },
};

/** Something may be put into `/tmp`; `mkdir -p` of a folder that holds the workspace changes nothing. */
function created(command: Command, target: string): boolean {
  if (/^\/(?:tmp|var\/tmp|dev\/shm)$/.test(absolute(target, command.cwd))) return command.name !== 'rm';
  return (command.name === 'mkdir' && /^\/(?:tmp|workspace)?\/?$/.test(target)) || (command.name === 'touch' && target === '/tmp');
}

/** Through a link the next write goes elsewhere. */
function links(command: Command, around: Surroundings): readonly Found[] {
  if (command.name !== 'ln') return nothing;
  const [to] = operands(command);
  if (to === undefined || !/^[/~.]/.test(to)) return nothing;
  const place = around.place(to, command);
  return (['root', 'home', 'system'].includes(place) || (place === 'above' && !to.startsWith('.'))) && !/^\/(?:usr|bin|opt|lib)\//.test(to)
    ? found('Suspicious', `ln makes a way to ${to}, outside the roots`)
    : nothing;
}
