/**
 * Python: operators by family (calls, conditions, …), each made of the shared forms in `../language/forms.ts`, the
 * file, its names and its syntax. May import `../language` and nothing else of the engine; a new operator is used once
 * its family lists it.
 */
import { type Operator, symptomFactors } from './operator.ts';
import { calls } from './calls.ts';
import { conditions } from './conditions.ts';
import { exits } from './exits.ts';
import { literals } from './literals.ts';
import { names } from './identifiers.ts';
import { signs } from './signs.ts';
import { statements } from './statements.ts';
import { defineLanguage } from '../language/language.ts';
import { PythonFile, lines, rules } from './file.ts';

/** Every operator for Python, by name. */
export const operators: readonly Operator[] = [...calls, ...conditions, ...exits, ...literals, ...names, ...signs, ...statements].sort(
  (one, other) => (one.name < other.name ? -1 : 1),
);

/** The language Python. */
export const python = defineLanguage<PythonFile>({
  name: 'python',
  grammars: { '.py': 'python' },
  syntax: rules,
  operators,
  open: (source, root) => new PythonFile(source, root),
  lines,
  symptoms: symptomFactors,
});
