import { KeeperError } from '../../failure.ts';
import type { Assertion, CharSet, Node } from './syntax.ts';

/** An instruction of the machine that {@link Matcher} runs. */
export type Instruction =
  | { readonly op: 'set'; readonly set: CharSet }
  | { readonly op: 'assert'; readonly what: Assertion }
  | { readonly op: 'fork'; readonly to: readonly number[] }
  | { readonly op: 'match' };

/** The time for a character grows with this. */
const maxInstructions = 1000;

/** Thompson's construction (1968). @throws KeeperError `AF_INVALID` for a pattern that grows too large */
export function compile(node: Node): readonly Instruction[] {
  const program: Instruction[] = [];
  emit(program, node);
  add(program, { op: 'match' });
  return program;
}

function add(program: Instruction[], instruction: Instruction): number {
  if (program.length >= maxInstructions) {
    throw new KeeperError('AF_INVALID', `regex: with its repetitions written out it has over ${maxInstructions} parts`);
  }
  return program.push(instruction) - 1;
}

function emit(program: Instruction[], node: Node): void {
  if (node.kind === 'set') add(program, { op: 'set', set: node.set });
  else if (node.kind === 'assert') add(program, { op: 'assert', what: node.what });
  else if (node.kind === 'repeat') emitRepeat(program, node.part, node.min, node.max);
  else if (node.kind === 'alt') emitAlternatives(program, node.parts);
  else for (const part of node.parts) emit(program, part);
}

function emitAlternatives(program: Instruction[], parts: readonly Node[]): void {
  const to: number[] = [];
  const ends: number[] = [];
  const fork = add(program, { op: 'fork', to });
  for (const part of parts) {
    to.push(program.length);
    emit(program, part);
    ends.push(add(program, { op: 'fork', to: [] }));
  }
  program[fork] = { op: 'fork', to };
  for (const end of ends) program[end] = { op: 'fork', to: [program.length] };
}

function emitRepeat(program: Instruction[], part: Node, min: number, max: number | null): void {
  for (let n = 0; n < min; n++) emit(program, part);
  if (max === null) {
    const fork = add(program, { op: 'fork', to: [] });
    emit(program, part);
    add(program, { op: 'fork', to: [fork] });
    program[fork] = { op: 'fork', to: [fork + 1, program.length] };
    return;
  }
  const forks: number[] = [];
  for (let n = min; n < max; n++) {
    forks.push(add(program, { op: 'fork', to: [] }));
    emit(program, part);
  }
  for (const fork of forks) program[fork] = { op: 'fork', to: [fork + 1, program.length] };
}
