import type { Outcome } from './results.ts';
import type { GoPackages } from './goPackages.ts';

const outcomes: Readonly<Record<string, Outcome>> = { PASS: 'Passed', FAIL: 'Failed', SKIP: 'Skipped' };

/**
 * The text of `go test -v`. A package's name comes after its tests. Where a test leaves its last line open, `--- PASS`
 * or `=== RUN` is in the middle of a line.
 */
export function goText(packages: GoPackages, lines: readonly string[]): void {
  let pending: { readonly test: string; readonly outcome: Outcome | null; readonly seconds: number | null }[] = [];
  const started = new Set<string>();
  const running = new Set<string>();
  for (const line of lines) {
    const run = startOf(line, started, running);
    if (run !== null) {
      started.add(run);
      if (!run.includes('/')) running.add(run);
      pending.push({ test: run, outcome: null, seconds: null });
      continue;
    }
    const end = endOf(line, started);
    if (end !== null) {
      pending.push(end);
      running.delete(end.test);
    }
    const closed = packageOf(line);
    if (closed === null) continue;
    for (const { test, outcome, seconds } of pending) {
      if (outcome === null) packages.run(closed.name, test);
      else if (started.size > 0) packages.end(closed.name, test, outcome, seconds);
      else if (outcome === 'Failed') packages.failed(closed.name, test);
    }
    packages.close(closed.name, closed.outcome, closed.message);
    pending = [];
    started.clear();
    running.clear();
  }
  // Tests of a package whose last line is missing.
  for (const { test } of pending) packages.run('(unknown package)', test);
}

/** In the middle of a line only a subtest of a started test can start, or a test while none runs: any other is printed by one. */
function startOf(line: string, started: ReadonlySet<string>, running: ReadonlySet<string>): string | null {
  const at = line.lastIndexOf('=== RUN ');
  const test = at < 0 ? undefined : /^=== RUN +(\S+)$/.exec(line.slice(at))?.[1];
  if (test === undefined || at === 0) return test ?? null;
  const parent = test.lastIndexOf('/');
  return (parent < 0 ? running.size === 0 : started.has(test.slice(0, parent))) ? test : null;
}

function endOf(
  line: string,
  started: ReadonlySet<string>,
): { readonly test: string; readonly outcome: Outcome; readonly seconds: number } | null {
  const whole = /^ *--- (PASS|FAIL|SKIP): (\S+) \((\d[\d.]*)s\)$/.exec(line);
  const at = whole === null ? line.lastIndexOf('--- ') : -1;
  const parts = whole ?? (at > 0 && started.size > 0 ? /^--- (PASS|FAIL|SKIP): (\S+) \((\d[\d.]*)s\)$/.exec(line.slice(at)) : null);
  if (parts === null || (whole === null && !started.has(parts[2] ?? ''))) return null;
  return { test: parts[2] ?? '', outcome: outcomes[parts[1] ?? ''] ?? 'Failed', seconds: Number(parts[3]) };
}

/** `ok  	pkg	0.01s`, `FAIL	pkg [build failed]`, `?   	pkg	[no test files]`. */
function packageOf(line: string): { readonly name: string; readonly outcome: Outcome; readonly message: string } | null {
  const parts = /^(ok|FAIL|\?)\s{0,8}\t(\S+)(.*)$/.exec(line);
  if (parts === null) return null;
  const [, word, name = '', message = ''] = parts;
  if (word === '?' || message.includes('[no test files]')) return { name, outcome: 'Skipped', message: message.trim() };
  return {
    name,
    outcome: word === 'ok' ? (message.includes('[no tests to run]') ? 'Skipped' : 'Passed') : 'Failed',
    message: message.trim(),
  };
}
