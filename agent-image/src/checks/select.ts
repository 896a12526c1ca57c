// agent-image, checks: command that runs only some tests of a check. May import protocol, kube and the keeper's client.
import type { ResultFormat } from './parse/results.ts';

/** Options of unittest and pytest without a value that do not change which tests run. */
const plainUnittest = /^(?:-[vqbc]+|--verbose|--quiet|--buffer|--locals)$/;
const plainPytest = /^(?:-[vqs]+|-r\w+|--tb=\w+|--color=\w+|--durations=\d+|--no-header|--no-summary)$/;

/**
 * Returns the command that runs only some tests of a check; null where the runner cannot select them, or options of the
 * command could then change their meaning. The caller must check in the results that only these ran. Pure.
 *
 * @param ids of tests as the format names them
 * @example selectTests(['python3', '-m', 'unittest', '-v'], 'Unittest', ['test_calc.T.test_half']); // ['python3',
 * '-m', 'unittest', '-v', 'test_calc.T.test_half']
 */
export function selectTests(command: readonly string[], format: ResultFormat, ids: readonly string[]): readonly string[] | null {
  if (format === 'Unittest') return unittest(command, ids);
  if (format === 'Pytest') return pytest(command, ids);
  return format === 'NodeTest' ? nodeTest(command, ids) : null;
}

function unittest(command: readonly string[], ids: readonly string[]): readonly string[] | null {
  const at = command.indexOf('unittest') + 1;
  if (at < 2 || command[at - 2] !== '-m' || !ids.every((id) => /^\w+(?:\.\w+){2,}$/.test(id))) return null;
  const options = command.slice(at).filter((one) => one.startsWith('-'));
  if (command.includes('discover') || !options.every((one) => plainUnittest.test(one))) return null;
  return [...command.slice(0, at), ...options.filter((one) => !/^-[vq]+$/.test(one)), '-v', ...ids];
}

function pytest(command: readonly string[], ids: readonly string[]): readonly string[] | null {
  const at = command.findIndex((one) => /(?:^|\/)(?:pytest|py\.test)$/.test(one)) + 1;
  if (at === 0 || !ids.every((id) => id.includes('::'))) return null;
  const options = command.slice(at).filter((one) => one.startsWith('-'));
  return options.every((one) => plainPytest.test(one)) ? [...command.slice(0, at), ...options, ...ids] : null;
}

/** A suite would run whole: only its tests are named. */
function nodeTest(command: readonly string[], ids: readonly string[]): readonly string[] | null {
  const at = command.indexOf('--test');
  const tests = ids.filter((id) => !ids.some((other) => other.startsWith(`${id} > `)));
  if (at < 0 || command.some((one) => one.startsWith('--test-name-pattern') || one.startsWith('--test-skip-pattern'))) return null;
  const names = tests.map((id) => id.replaceAll(' > ', ' ').replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  return [...command.slice(0, at + 1), ...names.map((name) => `--test-name-pattern=^${name}$`), ...command.slice(at + 1)];
}
