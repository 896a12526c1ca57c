import type { Operator } from '../operator.ts';
import { addCondition } from './addCondition.ts';
import { arithmetic } from './arithmetic.ts';
import { baseCase } from './baseCase.ts';
import { booleanOperator } from './booleanOperator.ts';
import { comparison } from './comparison.ts';
import { constant } from './constant.ts';
import { convert } from './convert.ts';
import { declaration } from './declaration.ts';
import { defaultParameter } from './defaultParameter.ts';
import { dropTerm } from './dropTerm.ts';
import { elseBranch } from './elseBranch.ts';
import { fallback } from './fallback.ts';
import { fileLiteral } from './fileLiteral.ts';
import { guardStatement } from './guardStatement.ts';
import { increment } from './increment.ts';
import { initialValue } from './initialValue.ts';
import { integerOffset } from './integerOffset.ts';
import { literalName } from './literalName.ts';
import { loopBounds } from './loopBounds.ts';
import { loopExit } from './loopExit.ts';
import { missingArgument } from './missingArgument.ts';
import { missingAwait } from './missingAwait.ts';
import { missingCopy } from './missingCopy.ts';
import { missingReturn } from './missingReturn.ts';
import { missingThrow } from './missingThrow.ts';
import { nearMethod } from './nearMethod.ts';
import { negation } from './negation.ts';
import { optionalChain } from './optionalChain.ts';
import { pattern } from './pattern.ts';
import { precedence } from './precedence.ts';
import { property } from './property.ts';
import { replaceName } from './replaceName.ts';
import { returnValue } from './returnValue.ts';
import { reuseExpression } from './reuseExpression.ts';
import { sliceBounds } from './sliceBounds.ts';
import { sortComparator } from './sortComparator.ts';
import { spread } from './spread.ts';
import { statementCopy } from './statementCopy.ts';
import { statementDelete } from './statementDelete.ts';
import { statementMove } from './statementMove.ts';
import { swapArguments } from './swapArguments.ts';
import { truthiness } from './truthiness.ts';
import { update } from './update.ts';

/** Every operator for JavaScript and TypeScript, one file each; a new one takes part once it stands here. */
export const operators: readonly Operator[] = [
  addCondition,
  arithmetic,
  baseCase,
  booleanOperator,
  comparison,
  constant,
  convert,
  declaration,
  defaultParameter,
  dropTerm,
  elseBranch,
  fallback,
  fileLiteral,
  guardStatement,
  increment,
  initialValue,
  integerOffset,
  literalName,
  loopBounds,
  loopExit,
  missingArgument,
  missingAwait,
  missingCopy,
  missingReturn,
  missingThrow,
  nearMethod,
  negation,
  optionalChain,
  pattern,
  precedence,
  property,
  replaceName,
  returnValue,
  reuseExpression,
  sliceBounds,
  sortComparator,
  spread,
  statementCopy,
  statementDelete,
  statementMove,
  swapArguments,
  truthiness,
  update,
];
