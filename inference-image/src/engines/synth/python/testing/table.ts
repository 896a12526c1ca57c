import { testOperatorIn, type Row } from '../../testing/table.ts';
import { PythonFile, rules } from '../file.ts';
import type { Operator } from '../operator.ts';

/** Tests an operator for Python by a table. */
export function testOperator(operator: Operator, rows: readonly Row[]): void {
  testOperatorIn({ grammar: 'python', rules, open: (source, root) => new PythonFile(source, root) }, operator, rows);
}
