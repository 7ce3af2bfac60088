import { useCallback, useEffect, useReducer, useRef } from 'react'

/** Returns a function that focuses the first invalid field once it is rendered. */
export const useFocusFirstWrong = (): (() => void) => {
  const wanted = useRef(false)
  const [, render] = useReducer((renders: number) => renders + 1, 0)
  // After each render, because a field in another tab is rendered later than its error.
  useEffect(() => {
    if (!wanted.current) return undefined
    const frame = requestAnimationFrame(() => {
      const within = document.querySelector('.dialog form') ?? document.querySelector('main')
      const first = within?.querySelector<HTMLElement>('[aria-invalid="true"]')
      if (!first) return
      wanted.current = false
      first.focus()
    })
    return () => cancelAnimationFrame(frame)
  })
  return useCallback(() => {
    wanted.current = true
    render()
  }, [])
}
