/** Texts of JSON syntax errors. */
export const json = {
  not: (message: string, line: number, column: number) =>
    `This is not JSON: ${message}, line ${line}, column ${column}.`,
  early: 'it ends too early',
  value: 'a value is expected',
  name: 'a name in quotes is expected',
  colon: '“:” is expected',
  nextMember: '“,” or “}” is expected',
  nextItem: '“,” or “]” is expected',
  end: 'nothing more is expected',
  control: 'a text contains a line end or another control character',
  escape: 'this is not a JSON escape',
}
