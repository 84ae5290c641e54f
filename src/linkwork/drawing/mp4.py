# SPDX-License-Identifier: BSD-3-Clause
"""Pictures as an .mp4, by ffmpeg: the one on the PATH, or that of the package imageio-ffmpeg."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from linkwork.errors import LinkworkError, UnsupportedFeature


def ffmpeg() -> str:
    """The path of the program; `UnsupportedFeature` where there is none."""
    program = shutil.which("ffmpeg")
    if program is not None:
        return program
    try:
        path: str = import_module("imageio_ffmpeg").get_ffmpeg_exe()
    except (ImportError, RuntimeError):  # the latter where the package comes without its program
        raise UnsupportedFeature(
            ".mp4 needs ffmpeg: pip install 'linkwork[video]' (imageio-ffmpeg), or install ffmpeg itself "
            "(apt install ffmpeg, brew install ffmpeg); .gif and animated .png need neither"
        ) from None
    return path


def write_mp4(path: Path, size: tuple[int, int], fps: float, frames: Iterable[bytes]) -> Path:
    """Write frames of ``size`` (width, height; both even), rows of red, green and blue bytes each, to a file.

    Browsers and phones play it: H.264 where ffmpeg can, with colors at half the resolution.
    """
    form = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{size[0]}x{size[1]}", "-r", f"{fps:g}"]
    to = ["-an", "-pix_fmt", "yuv420p", "-movflags", "+faststart", "-y", str(path)]
    with tempfile.TemporaryFile() as said:
        command = [ffmpeg(), "-loglevel", "error", *form, "-i", "-", *to]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=said) as writer:
            assert writer.stdin is not None
            with suppress(BrokenPipeError):  # it has ended, and said why
                for frame in frames:
                    writer.stdin.write(frame)
                writer.stdin.close()
        if writer.returncode:
            said.seek(0)
            words = said.read().decode(errors="replace").strip().splitlines() or [f"exit code {writer.returncode}"]
            raise LinkworkError(f"ffmpeg cannot write {path}: {words[-1]}")
    return path
