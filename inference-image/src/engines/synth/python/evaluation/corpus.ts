import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { readCases, type Case, type Corpus, type Executed } from '../../evaluation/evaluate.ts';

/** Bugs in Python, run by `runner.py`. */
export const pythonCorpus: Corpus = {
  language: 'Python',
  cases: (half) => readCases(join(import.meta.dirname, '../testdata', half), /\.py$/),
  execute,
};

async function execute(subject: Case, candidates: readonly string[], stop: boolean): Promise<Executed> {
  const python = spawn('python3', ['-I', '-S', join(import.meta.dirname, 'runner.py')], { stdio: ['pipe', 'pipe', 'pipe'] });
  const { name, source, tests } = subject;
  python.stdin.end(JSON.stringify({ name, source, tests, candidates, stop }));
  const ended = new Promise<number | null>((resolve, reject) => {
    python.once('error', reject);
    python.once('close', resolve);
  });
  const [output, errors, code] = await Promise.all([text(python.stdout), text(python.stderr), ended]);
  if (code !== 0) throw new Error(`python3 ended with ${code} on ${name}: ${errors.slice(-2000)}`);
  return JSON.parse(output) as Executed;
}
