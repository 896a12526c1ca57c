// Coverage of JavaScript: preloaded into each Node that a check starts (NODE_OPTIONS), writes which lines each test ran. Imports Node's modules
// and this folder only, as it runs in the sandbox. Without AGENTFLEET_TRACE_OUT it does nothing.
import * as modules from 'node:module';
import { basename } from 'node:path';
import type { TestContext } from 'node:test';
import { Recorder, testVariable } from './recorder.ts';

const { AGENTFLEET_TRACE_OUT: out, AGENTFLEET_TRACE_ROOT: root, [testVariable]: startedBy } = process.env;

/** `passed` is there since Node 20.12; the types do not know it. */
type Reported = TestContext & { readonly passed: boolean };

/**
 * Hooks of node:test are registered when the program first asks for it: in other programs they would print a summary of
 * no tests. A Node without such hooks of resolution (before 22.15) reports each process as one run.
 */
function watchTests(recorder: Recorder): void {
  let asked = false;
  modules.registerHooks?.({
    resolve(specifier, context, next) {
      if (specifier === 'node:test' && !asked) {
        asked = true;
        const { beforeEach, afterEach } = process.getBuiltinModule('node:test');
        // Typed as suites have them, too, which these hooks never get.
        beforeEach((context) => recorder.begin((context as Reported).fullName));
        afterEach((context) => recorder.end((context as Reported).fullName, (context as Reported).passed));
      }
      return next(specifier, context);
    },
  });
  watchEnd(recorder, () => asked);
}

/** A process that runs no test of node:test is one run as a whole, or a part of the test that started it. */
function watchEnd(recorder: Recorder, hasTests: () => boolean): void {
  const main = process.argv[1] ?? '';
  const tell = (failed: boolean): void => {
    if (recorder.begun > 0 || main === '') return;
    recorder.whole(recorder.files.relative(main) ?? basename(main), failed ? 'Failed' : 'Passed');
  };
  // node:test rethrows errors of a test file: that process ends without the event `exit`.
  process.on('uncaughtExceptionMonitor', () => {
    if (startedBy === undefined && hasTests()) tell(true);
  });
  process.on('exit', (code) => {
    if (startedBy !== undefined) recorder.whole(startedBy, null);
    else if (code !== 0 || !hasTests()) tell(code !== 0);
  });
}

if (out !== undefined && root !== undefined) {
  try {
    watchTests(new Recorder(out, root));
  } catch {
    // The check has to run as it would without a tracer.
  }
}
