import { hasHole } from '../shell/marks.ts';
import { absolute, type Place } from '../shell/places.ts';
import { args, hasFlag, operands, type Command } from '../shell/command.ts';
import { findStarts } from '../shell/runners.ts';
import { found, nothing, type Found, type Rail, type Surroundings } from './rail.ts';

const words: Partial<Record<Place, string>> = {
  root: 'the root of the file system',
  system: 'a system folder',
  home: 'a home folder',
  above: 'a folder that holds the workspace',
  workspace: 'the whole workspace',
  outside: 'a folder outside the workspace',
};

/** Deletions that no snapshot of the workspace brings back, or that empty it. */
export const catastrophicDelete: Rail = {
  id: 'catastrophic-delete',
  title: 'deleting the system, a home folder or the whole workspace',
  severity: 'Critical',
  risk: 'Destructive',
  cure: 'Name the folder inside the workspace that is to go, such as `rm -rf ./build`; guard variables with `${name:?}`.',
  check(command, around) {
    const { name } = command;
    if (/^(?:rm|shred|srm|unlink|trash|rimraf|rmtree)$/.test(name)) return removed(command, around);
    if (name === 'find' || name === 'fd') return foundAndDeleted(command, around);
    if (name === 'git') return cleaned(command, around);
    if (/^(?:chmod|chown|chgrp|chattr|setfacl)$/.test(name) && hasFlag(command, 'R', '--recursive'))
      return swept(command, operands(command).slice(1), around, 'changes all of');
    if (name === 'mv') return swept(command, operands(command).slice(0, -1), around, 'moves away');
    if (name === 'rsync' && args(command).some((text) => text.startsWith('--delete')))
      return swept(command, operands(command).slice(-1), around, 'deletes in');
    if (name === 'truncate') return swept(command, operands(command), around, 'empties');
    return nothing;
  },
};

/** Places where package managers and builds leave files in an image, and folders that only its build made. */
const leftInImage =
  /^\/(?:(?:var\/(?:cache|log|tmp)|tmp)\/.|var\/lib\/[\w.-]+(?:\/|$)|(?:usr|etc)\/[\w.-]+\/[\w.]|(?:root|home\/[\w.-]+)\/\.\w|(?:build|src|app|code|install|opt\/[\w.-]+)(?:\/|$))/;

/** Reports whether a command of an image's build deletes only what is left over in the image: nothing of where it is built. Pure. */
export function clearsImage(command: Command): boolean {
  const targets = operands(command);
  const isLeft = (target: string): boolean => leftInImage.test(absolute(target, command.cwd)) && !hasHole(target) && !target.includes('..');
  return command.name === 'rm' && targets.length > 0 && targets.every(isLeft);
}

function removed(command: Command, around: Surroundings): readonly Found[] {
  const recursive = hasFlag(command, 'rR', '--recursive') || command.name === 'rimraf';
  for (const target of operands(command)) {
    const place = around.place(target, command);
    const many = recursive || /[\uE001-\uE003]/.test(target);
    if (place === 'unknown') {
      if (recursive) return found('Unknown', `${command.name} deletes ${target}, which only the run would tell`);
    } else if (many && words[place] !== undefined) {
      const severe = place === 'workspace' && (!recursive || !hasFlag(command, 'f', '--force')) ? 'High' : 'Critical';
      return found(severe, `${command.name} deletes ${words[place]} (${target})`);
    }
  }
  return nothing;
}

function foundAndDeleted(command: Command, around: Surroundings): readonly Found[] {
  if (!args(command).includes('-delete')) return nothing;
  if (hasFlag(command, 'L', '-follow')) return found('Unknown', 'find deletes where links lead to');
  if (args(command).some((text) => /^-o(?:r)?$/.test(text)) && !args(command).some((text) => /^[\\]?\($/.test(text)))
    return found('Unknown', 'find deletes what its last alternative alone matches', 'Put the alternatives between parentheses.');
  const filtered =
    !args(command).some((text) => text === '!' || text === '-not') &&
    args(command).some((text) => /^-(?:i?name|i?path|i?regex|i?wholename|empty|size|[mac]time|[mac]min|newer)/.test(text));
  for (const start of findStarts(command)) {
    const place = around.place(start, command);
    if (place === 'unknown') return found('Unknown', `find deletes below ${start}, which only the run would tell`);
    if (words[place] !== undefined && !(place === 'workspace' && filtered))
      return found('Critical', `find deletes below ${words[place]} (${start})`);
  }
  return nothing;
}

/** Ignored files go too with `-x`: dependencies, local settings, what was built. */
function cleaned(command: Command, around: Surroundings): readonly Found[] {
  const all = args(command);
  if (operands(command)[0] !== 'clean' && !all.includes('clean')) return nothing;
  const rest = all.slice(all.indexOf('clean') + 1);
  const flags = rest.filter((text) => /^-[a-z]/i.test(text)).join('');
  if (!flags.includes('f') && !rest.includes('--force')) return nothing;
  if (flags.includes('n') || rest.includes('--dry-run') || !/[xX]/.test(flags)) return nothing;
  const folders = rest.filter((text) => !text.startsWith('-'));
  const where = all.indexOf('-C') >= 0 && all.indexOf('-C') < all.indexOf('clean') ? (all[all.indexOf('-C') + 1] ?? '.') : '.';
  const targets = folders.length === 0 ? [where] : folders.map((text) => (where === '.' ? text : `${where}/${text}`));
  const bad = targets.find((target) => words[around.place(target, command)] !== undefined);
  // With `-X` only what is ignored goes: what a build makes again, and local settings.
  const severity = /x/.test(flags) ? 'High' : 'Suspicious';
  return bad === undefined ? nothing : found(severity, `git clean deletes ignored files of ${words[around.place(bad, command)]}`);
}

function swept(command: Command, targets: readonly string[], around: Surroundings, verb: string): readonly Found[] {
  for (const target of targets) {
    const place = around.place(target, command);
    if (['root', 'system', 'home', 'above'].includes(place))
      return found('Critical', `${command.name} ${verb} ${words[place]} (${target})`);
    if (place === 'workspace' && command.name !== 'chmod') return found('High', `${command.name} ${verb} ${words[place]} (${target})`);
  }
  return nothing;
}
