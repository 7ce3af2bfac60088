/** Whether what is pressed there is text, or chooses something. */
export const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable ||
    target.closest('textarea, select, input:not([type=checkbox], [type=radio], [type=range])') !== null)

/** Whether something is open above the page. */
export const isOpen = (): boolean =>
  document.querySelector('[role=dialog], [role=alertdialog], [role=menu], [role=listbox]') !== null

/** Presses what a part of the page offers under a key. */
export const press = (part: 'main' | 'header', key: string): void =>
  document.querySelector<HTMLElement>(`${part} [aria-keyshortcuts="${key}"]`)?.click()

/** Gives the focus to the search of the page. */
export const search = (): void => document.querySelector<HTMLElement>('main [data-page-search]')?.focus()

const rows = (): readonly HTMLElement[] => [...document.querySelectorAll<HTMLElement>('main tbody tr:not(.detail)')]
const rowAt = (): HTMLElement | null => document.activeElement?.closest<HTMLElement>('main tbody tr') ?? null

/** Gives the focus to the next row, or the previous: to its link, else to what else it offers. */
export const moveRow = (by: 1 | -1): void => {
  const all = rows()
  const here = rowAt()
  const next = here ? all.indexOf(here) + by : by === 1 ? 0 : all.length - 1
  all[next]?.querySelector<HTMLElement>('th a, a, input[type=checkbox], button')?.focus()
}

/** Chooses the row that has the focus, or lets it go. */
export const toggleRow = (): void => rowAt()?.querySelector<HTMLElement>('input[type=checkbox]')?.click()

/** Sends the form in which somebody types; where that is none, the form that the page is about. */
export const sendForm = (event: KeyboardEvent): void => {
  const typed = event.target instanceof HTMLElement ? event.target.closest('form') : null
  const form = typed ?? (isOpen() ? null : document.querySelector<HTMLFormElement>('main form[data-page-form]'))
  if (event.defaultPrevented || !form) return
  event.preventDefault()
  // By its button, which does nothing where it says why not.
  const button = form.querySelector<HTMLElement>('[type=submit]')
  if (button) button.click()
  else form.requestSubmit()
}
