import { hasGlob, hasHole } from '../shell/marks.ts';
import { found, nothing, type Rail } from './rail.ts';

/** The name of a program that only the run would show. What could not be parsed is reported under the same id. */
export const unresolved: Rail = {
  id: 'unresolved',
  title: 'what cannot be understood from the text: names made at run time, broken syntax, too large or too deep',
  severity: 'Unknown',
  risk: 'Unknown',
  cure: 'Write the program name out, and split what is long into several commands.',
  check(command) {
    if (command.argv.length === 0) return nothing;
    const written = command.argv[0]?.text ?? '';
    if (hasHole(command.name)) return found('Unknown', `the program ${written} is known only at run time`);
    return hasGlob(written) ? found('Unknown', `the program ${written} depends on which files exist`) : nothing;
  },
};
