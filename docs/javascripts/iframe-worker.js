// Search on pages that were opened from a folder: browsers start no workers there (file://), and the search is one.
// Its script runs in a hidden frame of the page instead. Served pages keep their workers.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      this.inside = frame.contentWindow
      this.inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      const script = this.inside.document.createElement("script")
      script.src = new URL(url, location.href).href
      this.ready = new Promise((loaded, failed) => {
        script.onload = loaded
        script.onerror = () => failed(new Error(`${script.src} cannot be loaded`))
      })
      this.inside.document.body.append(script)
    }

    async postMessage(data) {
      await this.ready
      this.inside.dispatchEvent(new this.inside.MessageEvent("message", { data }))
    }
  }
  window.Worker = window.IFrameWorker
}
