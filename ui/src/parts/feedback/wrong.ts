import { useCallback } from 'react'

/** Returns a function that focuses the first invalid field after the next render. */
export const useFocusFirstWrong = (): (() => void) =>
  useCallback(() => {
    requestAnimationFrame(() => {
      const within = document.querySelector('.dialog form') ?? document.querySelector('main')
      within?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
    })
  }, [])
