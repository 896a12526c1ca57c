import { testOperatorIn, type Row } from '../../testing/table.ts';
import { ScriptFile } from '../file.ts';
import { type Operator, rules } from '../operator.ts';

/** Tests an operator for JavaScript and TypeScript by a table, with the grammar of TypeScript. */
export function testOperator(operator: Operator, rows: readonly Row[]): void {
  testOperatorIn({ grammar: 'typescript', rules, open: (source, root) => new ScriptFile(source, root) }, operator, rows);
}
