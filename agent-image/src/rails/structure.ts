// agent-image, rails: structure of an act, by the places it reaches. Imports protocol and tree-sitter, no other folder of the worker.
import { posix } from 'node:path';
import { placeOf, type Place, type Places, absolute } from './shell/places.ts';
import { args, hasFlag, isFixed, operands, type Command } from './shell/command.ts';
import { hasGlob } from './shell/marks.ts';
import { readTargets, writeTargets } from './shell/targets.ts';
import type { Features } from '@agentfleet/protocol/inference';
import type { Finding } from './verdict/types.ts';
import { harmless, isMade, isSpecial, sensesTests, widened } from './allowlist.ts';
import { isReadOnly, verbWords } from './shell/readOnly.ts';

/** Places that a snapshot of the roots brings back. */
const covered: ReadonlySet<Place> = new Set(['inside', 'workspace', 'sink']);
/** Places that work is expected to write to, beside the workspace, which is the first root. */
const beside: ReadonlySet<Place> = new Set(['scratch', 'sink']);
/** All of something, or what holds it. */
const whole: ReadonlySet<Place> = new Set(['root', 'above', 'workspace', 'home']);
/** Programs whose last word is made, not named by the caller. */
const moving = new Set('rm rmdir unlink mv cp chmod chown chgrp ln truncate shred install rsync dd tee touch mkdir'.split(' '));

const dry = /^--(?:dry-run(?:=(?!none|false)\w+)?|check|check-only|no-act|simulate|noop|what-if|noEmit|list-different|help|version)$/;

/** Reports whether a command only shows what it would do, by an option of its own. */
function showsOnly(command: Command): boolean {
  if (args(command).some((text) => dry.test(text))) return true;
  if (command.name === 'git') return verbWords(command)[0] === 'clean' && hasFlag(command, 'n');
  return (command.name === 'rsync' || command.name === 'make') && hasFlag(command, 'n');
}

/** Places of one rule in a file are one objection. */
function objectionsOf(findings: readonly Finding[]): number {
  const objecting = findings.filter(({ severity }) => severity !== 'Notice' && severity !== 'Reversible');
  return new Set(objecting.map(({ rail, reason }) => `${rail} ${reason.replace(/, line \d{1,9}.{0,400}: /, ': ')}`)).size;
}

/** @param places the roots and the home folder of the sandbox */
export function structureOf(commands: readonly Command[], findings: readonly Finding[], places: Places): Features {
  const named = commands.filter(({ argv, redirects }) => argv.length > 0 || redirects.length > 0);
  const inside = insideOf(places);
  const targets = named.flatMap((command) => writeTargets(command).map((text) => placed(text, command, places)));
  const reads = named.flatMap((command) => readTargets(command).map((text) => placed(text, command, places)));
  // Counts of what is not harmless: what is added to an act never makes it look better.
  const changing = named.filter((command) => !isReadOnly(command) || widened(command));
  const count = (some: readonly Target[], holds: (one: Target) => boolean): number => some.filter(holds).length;
  return {
    commands: named.length,
    changingCommands: changing.length,
    unknownCommands: named.filter((command) => !harmless(command)).length,
    dryRunShare: changing.filter(showsOnly).length / Math.max(1, changing.length),
    insideTargets: count(targets, inside),
    outsideTargets: count(targets, (one) => !inside(one)),
    wholeTargets: count(targets, ({ place }) => whole.has(place)),
    uncovered: count(targets, ({ place }) => !covered.has(place)),
    regenerable: count(targets, ({ path }) => path.split('/').some(isMade)),
    outsideReads: count(reads, (one) => one.text.includes('/') && !inside(one)),
    dynamicWords: named.reduce((sum, { argv }) => sum + argv.filter((word) => !isFixed(word)).length, 0),
    wildcards: named.reduce((sum, command) => sum + (moving.has(command.name) ? operands(command).filter(hasGlob).length : 0), 0),
    objections: objectionsOf(findings),
  };
}

/** Returns the same of a file that is written: its place, and whether it is of a kind that tools run by themselves. */
export function structureOfFile(path: string, content: string, findings: readonly Finding[], places: Places): Features {
  const place = placeOf(path, places.roots[0] ?? '/', places);
  const isInside = insideOf(places)({ path, place });
  const root = places.roots.find((one) => path.startsWith(`${one}/`));
  return {
    insideTargets: isInside ? 1 : 0,
    outsideTargets: isInside ? 0 : 1,
    uncovered: covered.has(place) ? 0 : 1,
    objections: objectionsOf(findings),
    selfRunning: root === undefined || isSpecial(path.slice(root.length + 1)) ? 1 : 0,
    testSenses: sensesTests(content) ? 1 : 0,
  };
}

interface Target {
  readonly text: string;
  readonly path: string;
  readonly place: Place;
}

/** Returns a test for targets in the workspace or a scratch folder; the home folder does not count, though snapshots hold it. */
function insideOf({ roots: [workspace = '/'] }: Places): (one: Pick<Target, 'path' | 'place'>) => boolean {
  return ({ path, place }) => beside.has(place) || path === workspace || path.startsWith(`${workspace}/`);
}

function placed(text: string, { cwd }: Command, places: Places): Target {
  return { text, path: posix.normalize(absolute(text, cwd)), place: placeOf(text, cwd, places) };
}
