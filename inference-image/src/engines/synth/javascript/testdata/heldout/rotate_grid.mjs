/** The grid turned by a quarter, clockwise. */
export function rotateGrid(grid) {
  const [rows, columns] = [grid.length, grid[0].length];
  const turned = Array.from({ length: columns }, () => new Array(rows).fill(0));
  for (let row = 0; row < rows; row += 1) {
    for (let column = 0; column < columns; column += 1) {
      turned[column][rows - row] = grid[row][column];
    }
  }
  return turned;
}
