import { useCallback } from 'react'

/** Gives the focus to the first field that is wrong, once it is drawn so. */
export const useFocusFirstWrong = (): (() => void) =>
  useCallback(() => {
    requestAnimationFrame(() => {
      const within = document.querySelector('.dialog form') ?? document.querySelector('main')
      within?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
    })
  }, [])
