/** Texts of an ordered list of rollouts or rules. */
export const ordered = (thing: string, begun: string, many: string, none: string) => ({
  many,
  none,
  add: `Add ${thing}`,
  edit: (n: number) => `Edit ${thing} ${n}`,
  up: (n: number) => `Move ${thing} ${n} up`,
  down: (n: number) => `Move ${thing} ${n} down`,
  to: (n: number) => `Move ${thing} ${n} to…`,
  drop: (n: number) => `Delete ${thing} ${n}`,
  moved: (n: number, of: number) => `${begun} moved to position ${n} of ${of}.`,
  moving: (n: number) => `Move ${thing} ${n}`,
})
export type OrderedWords = ReturnType<typeof ordered>

/** Texts common to all ordered lists. */
export const order = {
  edit: 'Edit',
  first: 'It is the first one.',
  last: 'It is the last one.',
  position: 'Position',
  move: 'Move',
}
