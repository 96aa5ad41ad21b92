"""Makes the pictures in docs/images/ anew: measures a sample project, writes its page, and has Chromium draw it.

Needs Warp, Chromium and chromedriver, and selenium. Run from anywhere: ``python benchmarks/page_images.py``.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
SAMPLE = CHECKOUT / "sample_projects" / "kernels_between_launches"
IMAGES = CHECKOUT / "docs" / "images"
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars"
)
# Name, width and height in CSS pixels, colours, and what stands at the top.
PICTURES = (
    ("page-light.png", 1000, 1150, "light", "header"),
    ("page-dark.png", 1000, 900, "dark", "#h-modules"),
    ("page-phone.png", 390, 1000, "light", "header"),
)


def main() -> None:
    """Measure, write, draw."""
    from selenium import webdriver

    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / SAMPLE.name
        shutil.copytree(SAMPLE, copy, ignore=shutil.ignore_patterns("__pycache__", ".warpfix"))
        page = Path(scratch) / "page.html"
        command = ["measure", "--samples", "2", "--html", str(page), "--", "python", "run.py"]
        subprocess.run([sys.executable, "-m", "warpfix", *command], cwd=copy, check=True, stdout=subprocess.DEVNULL)
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium") or ""
        for flag in [*FLAGS.split(), f"--user-data-dir={scratch}/profile"]:
            options.add_argument(flag)
        driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
        try:
            for name, width, height, scheme, top in PICTURES:
                metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
                driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
                features = [
                    {"name": "prefers-color-scheme", "value": scheme},
                    {"name": "prefers-reduced-motion", "value": "reduce"},
                ]
                driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": features})
                driver.get(page.as_uri())
                driver.execute_script("document.querySelector(arguments[0]).scrollIntoView()", top)
                driver.save_screenshot(str(IMAGES / name))
                print(name, (IMAGES / name).stat().st_size, "bytes")
        finally:
            driver.quit()


if __name__ == "__main__":
    main()
