/** Functions of formulas; each gets a list of numbers. */
export const functions = {
  SUM: (values) => values.reduce((sum, value) => sum + value),
  MAX: (values) => Math.max(...values),
  MIN: (values) => Math.min(...values),
  AVERAGE: (values) => functions.SUM(values) / values.length,
  COUNT: (values) => values.length,
};
