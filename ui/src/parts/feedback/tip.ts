/** Attributes of an element with a tooltip; the text is also its description. */
export const tip = (words: string): { readonly 'data-tip': string; readonly 'aria-description': string } => ({
  'data-tip': words,
  'aria-description': words,
})
