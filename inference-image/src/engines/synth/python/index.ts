import { defineLanguage } from '../language.ts';
import { PythonFile } from './file.ts';
import { lines } from './lines.ts';
import { operators } from './operators/index.ts';
import { rules } from './rules.ts';
import { symptomFactors } from './symptoms.ts';

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
