/** Whether the target takes keyboard input: a text field or a select. */
export const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable ||
    target.closest('textarea, select, input:not([type=checkbox], [type=radio], [type=range])') !== null)

/** Whether a dialog, menu or listbox is open. */
export const isOpen = (): boolean =>
  document.querySelector('[role=dialog], [role=alertdialog], [role=menu], [role=listbox]') !== null

/** Clicks the control with a shortcut in a part of the page. */
export const press = (part: 'main' | 'header' | '.banners', key: string): void =>
  document.querySelector<HTMLElement>(`${part} [aria-keyshortcuts="${key}"]`)?.click()

/** Focuses the search field of the page. */
export const search = (): void => document.querySelector<HTMLElement>('main [data-page-search]')?.focus()

const rows = (): readonly HTMLElement[] => [
  ...document.querySelectorAll<HTMLElement>('main :is(tbody tr:not(.detail), [data-row])'),
]
const rowAt = (): HTMLElement | null =>
  document.activeElement?.closest<HTMLElement>('main :is(tbody tr, [data-row])') ?? null

/** Focuses the first link of the next or previous row, else its first control. */
export const moveRow = (by: 1 | -1): void => {
  const all = rows()
  const here = rowAt()
  const next = here ? all.indexOf(here) + by : by === 1 ? 0 : all.length - 1
  all[next]?.querySelector<HTMLElement>('th a, a, input[type=checkbox], button')?.focus()
}

/** Toggles the selection of the focused row. */
export const toggleRow = (): void => rowAt()?.querySelector<HTMLElement>('input[type=checkbox]')?.click()

/** Submits the form that contains the focus, else the main form of the page. */
export const sendForm = (event: KeyboardEvent): void => {
  const typed = event.target instanceof HTMLElement ? event.target.closest('form') : null
  const form = typed ?? (isOpen() ? null : document.querySelector<HTMLFormElement>('main form[data-page-form]'))
  if (event.defaultPrevented || !form) return
  event.preventDefault()
  // Click the button, because it may be disabled with a reason.
  const button = form.querySelector<HTMLElement>('[type=submit]')
  if (button) button.click()
  else form.requestSubmit()
}
