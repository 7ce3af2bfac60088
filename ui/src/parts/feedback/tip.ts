/** Words beside what has the focus or the pointer, for the eye: what is named by other words has them as its description. */
export const tip = (words: string): { readonly 'data-tip': string; readonly 'aria-description': string } => ({
  'data-tip': words,
  'aria-description': words,
})
