import { defineLanguage } from '../language.ts';
import { PythonFile, lines, rules } from './file.ts';
import { operators } from './operators/index.ts';
import { symptomFactors } from './operator.ts';

/** All that knows Python. */
export const python = defineLanguage<PythonFile>({
  name: 'python',
  grammars: { '.py': 'python' },
  syntax: rules,
  operators,
  open: (source, root) => new PythonFile(source, root),
  lines,
  symptoms: symptomFactors,
});
