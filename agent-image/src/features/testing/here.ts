import { spawn } from 'node:child_process';
import { text as textOf } from 'node:stream/consumers';
import type { RunProgram } from '../index.ts';

/** Runs programs on this machine, without a sandbox. */
export const here: RunProgram = async ([program = '', ...args], stdin) => {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  child.stdin.end(stdin);
  return textOf(child.stdout);
};
