import type { ComponentProps, ReactNode } from 'react'
import { usePreferences } from '../preferences.ts'
import { common } from '../words/common.ts'
import { past } from '../words/past.ts'
import { tip } from './feedback/tip.ts'

type ButtonLook = 'primary' | 'danger' | 'danger solid' | 'plain' | 'icon plain'
type ButtonProps = Omit<ComponentProps<'button'>, 'disabled' | 'className'> & {
  readonly look?: ButtonLook
  /** Reason why it is disabled; the button stays focusable and shows the reason. */
  readonly why?: string | undefined
  /** Text while its action is in progress. */
  readonly busy?: string | undefined
}

/** CSS class of a button, also for links that look like one. */
export const buttonClass = (look?: ButtonLook): string => (look ? `button ${look}` : 'button')

/** Removes a control from the tab order if it is disabled because the page shows the past. */
export const stopOf = (why: string | undefined): { readonly tabIndex?: -1 } =>
  why === past.why ? { tabIndex: -1 } : {}

/** Button. A click does nothing while it is busy or disabled with a reason. */
export const Button = ({ look, why, busy, onClick, children, type = 'button', ...rest }: ButtonProps) => {
  const { singleKeys } = usePreferences()
  const key = rest['aria-keyshortcuts']
  const words = why ?? (key !== undefined && singleKeys ? common.shortcut(key) : undefined)
  const idle = why !== undefined || busy !== undefined
  return (
    <button
      {...rest}
      {...(words !== undefined && tip(words))}
      {...stopOf(why)}
      type={type}
      className={buttonClass(look)}
      aria-disabled={idle || undefined}
      onClick={(event) => {
        if (idle) event.preventDefault()
        else onClick?.(event)
      }}
    >
      {busy ?? children}
    </button>
  )
}

/** Button that submits a form. Control+Enter presses it. */
export const SubmitButton = (props: Omit<ButtonProps, 'type' | 'look' | 'aria-keyshortcuts'>) => (
  <Button {...props} type="submit" look="primary" aria-keyshortcuts="Control+Enter" />
)

/** Icon button; its tooltip is its name, or the reason why it is disabled. */
export const IconButton = ({
  name,
  icon,
  look = 'icon plain',
  why,
  busy,
  onClick,
  ...rest
}: Omit<ButtonProps, 'children'> & { readonly name: string; readonly icon: ReactNode }) => {
  const idle = why !== undefined || busy !== undefined
  return (
    <button
      {...rest}
      {...stopOf(why)}
      {...(why === undefined ? { 'data-tip': name } : tip(why))}
      type="button"
      className={buttonClass(look)}
      aria-label={name}
      aria-disabled={idle || undefined}
      onClick={(event) => {
        if (!idle) onClick?.(event)
      }}
    >
      {icon}
    </button>
  )
}
